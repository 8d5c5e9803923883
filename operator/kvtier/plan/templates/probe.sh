# Tries the shared tier out.
#
#   sh -c SCRIPT probe prepare ROOT        as root: hand the top directory to the group of the engines
#   sh -c SCRIPT probe write ROOT POOL [CACHE DOCUMENT]...
#                                          as the engines: write, read, rename and remove a file in ROOT/POOL, then
#                                          put each DOCUMENT into ROOT/CACHE/kvtier.json
#
# The exit code says what the tier answered, in numbers of errno.h: 5 I/O error or silence, 13 permission denied,
# 28 no space, 30 read-only, 1 anything else. Only the code reaches the Job's condition.
#
# Only programs touch the tier, never the shell itself: they name the error, and `timeout` can end them.
set -u
umask 0002
export LC_ALL=C

try() {
    said=$(timeout -k 10 "${KVTIER_SECONDS:-120}" "$@" 2>&1) || fail $? "$*"
}

fail() {
    echo "probe: $2: ${said:-exit code $1}" >&2
    case $1 in
    124 | 137 | 143) echo "probe: no answer in time" >&2; exit 5 ;;
    esac
    case $said in
    *'ermission denied'* | *'peration not permitted'*) exit 13 ;;
    *'o space left'* | *'uota exceeded'*) exit 28 ;;
    *'ead-only file system'*) exit 30 ;;
    *'I/O error'* | *'nput/output error'* | *'imed out'* | *ndpoint* | *'tale file handle'*) exit 5 ;;
    *) exit 1 ;;
    esac
}

content() {
    yes 'kvtier writes this to see whether the shared tier can be written to' 2>/dev/null | head -c 1048576
}

prepare() {
    try chgrp 1000 "$1"
    try chmod g+rwxs "$1"
}

made() {
    try mkdir -p "$1"
    # Only its owner may do this. Where that is somebody else, the next lines tell whether it matters.
    timeout -k 10 "${KVTIER_SECONDS:-120}" chmod g+rwxs "$1" 2>/dev/null || :
    try mktemp "$1/.kvtier-probe.XXXXXX"
    file=$said
}

write() {
    root=$1 directory=$1/$2
    shift 2
    file=
    trap 'rm -f "$file" "$file.renamed" 2>/dev/null' EXIT
    made "$directory"
    content | try dd of="$file" bs=65536 conv=fsync status=none || exit
    try mv "$file" "$file.renamed"
    try cksum "$file.renamed"
    if [ "$said" != "$(content | cksum) $file.renamed" ]; then
        echo "probe: what was read back is not what was written" >&2
        exit 5
    fi
    try rm "$file.renamed"
    while [ $# -gt 1 ]; do
        describe "$root/$1" "$2"
        shift 2
    done
    echo "probe: $directory can be written to"
}

# Readers see the old document or the new one, never a part of it.
describe() {
    made "$1"
    printf %s "$2" | try dd of="$file" bs=65536 conv=fsync status=none || exit
    try chmod 664 "$file"
    try mv -f "$file" "$1/kvtier.json"
}

"$@"
