#!/bin/sh
# tests/gpu/run, goals.py and node themselves, where there is no GPU: what they say then, and with stand-ins for the driver and NVRTC the steps
# and how they end.
#
# usage: test_run.sh build-folder folder-of-the-stand-ins work-folder mpi
set -u

run=$(cd "$(dirname "$0")" && pwd)/run
goals=$(dirname "$run")/goals.py
node=$(dirname "$run")/node
build=$1 fake=$2 work=$3 mpi=$4
failed=0

# expect status pattern command…
expect() {
    status=$1 pattern=$2
    shift 2
    said=$("$@" 2>&1)
    rc=$?
    if [ $rc -ne "$status" ] || ! echo "$said" | grep -q "$pattern"; then
        printf 'not status %s and "%s", but %s:\n%s\n' "$status" "$pattern" $rc "$said"
        failed=1
    fi
}

# stand_in path status
stand_in() {
    printf '#!/bin/sh\nexit %s\n' "$2" >"$1"
    chmod +x "$1"
}

if [ -e /dev/nvidia0 ]; then
    echo "SKIPPED: there is a GPU"
    exit 77
fi
rm -rf "$work"
mkdir -p "$work/root/lib" "$work/root/tests" "$work/bin" "$work/broken/lib" "$work/broken/tests"
# In `broken` one program fails, and the others are missing.
ln -s "$build/bin" "$build/bench" "$build/samples" "$work/root"
for root in root broken; do
    ln -s "$build/lib/libpackwright-$mpi.so" "$work/$root/lib/"
    ln -s "$fake/libpw_fake_nvrtc.so" "$work/$root/lib/libpackwright-nvrtc.so"
done
ln -s "$build/tests/test_${mpi}_gpu_"* "$work/root/tests/"
stand_in "$work/broken/tests/test_${mpi}_gpu_pack" 1

if ! command -v nvidia-smi >/dev/null; then
    expect 77 "^SKIPPED: no NVIDIA GPU" sh "$run" -r "$work/root" -l "$work/no.logs" pack
    expect 77 "^SKIPPED: no NVIDIA GPU" python3 "$goals" -r "$work/root" -l "$work/no.logs"
    expect 77 "^SKIPPED: no NVIDIA GPU" python3 "$node" -r "$work/root" -l "$work/no.logs"
fi
stand_in "$work/bin/nvidia-smi" 0
export PATH="$work/bin:$PATH" LD_LIBRARY_PATH="$fake"
expect 2 "^usage: run" sh "$run" -x
expect 2 "there is no step 'packs', but kernels" sh "$run" pack packs
expect 0 "^5 passed, 0 failed, 0 skipped" sh "$run" -r "$work/root" -m "$mpi" -n 40 -l "$work/logs" pack seeded
expect 1 "^FAILED   $mpi.warm (1, " sh "$run" -r "$work/broken" -m "$mpi" -n 40 -l "$work/broken.logs" pack
expect 1 "^FAILED   $mpi.seeded (1, " sh "$run" -r "$work/broken" -m "$mpi" -l "$work/missing.logs" seeded
# Without programs all goals are missed or not measured, and the table says so.
expect 1 "^the driver identifies allocations.* NO$" python3 "$goals" -r "$work/broken" -m "$mpi" -l "$work/goals.logs" --quick
expect 2 "there is no 'sent', but driver" python3 "$goals" -o sent
expect 2 "there is no 'gather', but isend" python3 "$node" --modes isend,gather
# One GPU is seen, which the three ranks share; the programs see two.
expect 0 "^$mpi *halo3d isend *types *packwright *1 on 1 " python3 "$node" -r "$work/root" --mpi "$mpi" -l "$work/node.logs" --quick \
    --ranks 1,3 --apps nbody_complex -t 0.01 --json "$work/node.json"
grep -q '"way": "copies"' "$work/node.json" || { echo "no row by hand in $work/node.json"; failed=1; }
expect 1 "^LEFT OUT: $mpi, since there is no " python3 "$node" -r "$work/broken" --mpi "$mpi" -l "$work/node.broken"
expect 0 "^SKIPPED  other: no programs in" sh "$run" -r "$work/root" -m other -l "$work/other.logs" pack
exit $failed
