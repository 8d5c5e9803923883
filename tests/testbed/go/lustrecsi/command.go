package lustrecsi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"
)

type options struct {
	socket, steering, state, project, zone string
}

// NewCommand returns the command that serves the plugin until it receives a signal.
func NewCommand() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:          "lustre-csi",
		Short:        "A Managed Lustre CSI controller plugin with a simulated service",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return o.run(ctx)
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.socket, "socket", "", "path of the CSI socket")
	flags.StringVar(&o.steering, "steering-address", "", "loopback address of the steering port")
	flags.StringVar(&o.state, "state-file", "", "file that keeps the state over restarts")
	flags.StringVar(&o.project, "project", "testbed-project", "the cluster's project")
	flags.StringVar(&o.zone, "zone", "us-central1-a", "zone of volumes without a topology requirement")
	for _, name := range []string{"socket", "steering-address", "state-file"} {
		_ = command.MarkFlagRequired(name)
	}
	return command
}

func (o options) run(ctx context.Context) error {
	cloud, err := newCloud(o.state)
	if err != nil {
		return err
	}
	if err := os.Remove(o.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	plugin, err := net.Listen("unix", o.socket)
	if err != nil {
		return err
	}
	steering, err := net.Listen("tcp", o.steering)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(cloud.intercept))
	csi.RegisterIdentityServer(server, identity{})
	csi.RegisterControllerServer(server, &driver{cloud: cloud, project: o.project, zone: o.zone})
	failed := make(chan error, 2)
	go func() { failed <- server.Serve(plugin) }()
	go func() { failed <- http.Serve(steering, cloud.steering()) }()
	select {
	case <-ctx.Done():
		server.Stop()
		return nil
	case err := <-failed:
		return err
	}
}
