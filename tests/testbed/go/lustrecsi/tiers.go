package lustrecsi

import "fmt"

// tier holds the capacities, in GiB, that Managed Lustre accepts for one
// throughput per TiB: multiples of step up to threshold, then of largeStep.
type tier struct {
	min, threshold, max int64
	step, largeStep     int64
}

var tiers = map[int64]tier{
	1000: {min: 9_000, threshold: 1_530_000, max: 10_008_000, step: 9_000, largeStep: 72_000},
	500:  {min: 18_000, threshold: 3_060_000, max: 20_016_000, step: 18_000, largeStep: 144_000},
	250:  {min: 36_000, threshold: 6_120_000, max: 40_032_000, step: 36_000, largeStep: 288_000},
	125:  {min: 72_000, threshold: 12_240_000, max: 12_240_000, step: 72_000, largeStep: 72_000},
}

// check returns why the service refuses a capacity, or nil. A new instance has no
// previous capacity (0). One created at or below the threshold cannot outgrow it.
func (t tier) check(gib, created int64) error {
	step := t.step
	if gib > t.threshold {
		step = t.largeStep
	}
	switch {
	case gib < t.min || gib > t.max:
		return fmt.Errorf("invalid capacity_gib %d: must be between %d and %d", gib, t.min, t.max)
	case gib%step != 0:
		return fmt.Errorf("invalid capacity_gib %d: must be a multiple of %d", gib, step)
	case created > 0 && created <= t.threshold && gib > t.threshold:
		return fmt.Errorf("invalid capacity_gib %d: this instance cannot grow beyond %d", gib, t.threshold)
	}
	return nil
}
