# Runs the parts of a test run side by side and reports on each.
# shellcheck shell=bash
#
#   job NAME [OPTION...] -- COMMAND...   adds a part. Its output goes to a log, from which the results are counted.
#     needs=NAME   starts after that part has passed; may be given several times
#     cargo        never runs at the same time as another part with this option: both would wait for one build directory
#     count=KIND   how results are counted: cargo (cargo test), lines (`ok - ` and `not ok - `), or one (the default)
#   run_jobs N                           runs all of them, at most N at a time, in the order in which they were added; if
#                                        no part with the option cargo is running, the next one comes first
#   slowest_tests                        the five tests or parts that took longest
# After run_jobs, PASSED, FAILED and SKIPPED are the numbers of results.

PASSED=0
FAILED=0
SKIPPED=0
JOBS=()
declare -A JOB_NEEDS=() JOB_COUNT=() JOB_CARGO=() JOB_STATE=() JOB_START=() JOB_COMMAND=() JOB_PID=()

job() {
  local name=$1 quoted
  shift
  [[ -z ${JOB_STATE[$name]:-} ]] || die "there are two parts named $name"
  JOBS+=("$name")
  JOB_COUNT[$name]=one
  while [[ $1 != -- ]]; do
    case $1 in
      needs=*) JOB_NEEDS[$name]+="${1#needs=}"$'\n' ;;
      count=*) JOB_COUNT[$name]=${1#count=} ;;
      cargo) JOB_CARGO[$name]=1 ;;
      *) die "unknown option $1 of part $name" ;;
    esac
    shift
  done
  shift
  printf -v quoted '%q ' "$@"
  JOB_COMMAND[$name]=$quoted
  JOB_STATE[$name]=waiting
}

job_log() {
  local file=${1,,}
  echo "$LOGS/${file//[^a-z0-9]/-}.log"
}

job_start() {
  local name=$1 log
  log=$(job_log "$name")
  rm -f "$log.status"
  JOB_STATE[$name]=running
  JOB_START[$name]=$(now)
  # In a process group of its own, so that all of it can be stopped.
  set -m
  (
    set +m
    set +e
    # Locks of this run are not passed on to servers.
    exec 8>&-
    (
      set -e
      eval "${JOB_COMMAND[$name]}"
    ) >"$log" 2>&1 </dev/null
    echo "$?" >"$log.new"
    mv "$log.new" "$log.status"
  ) &
  JOB_PID[$name]=$!
  set +m
}

# stop_jobs: for on_exit; servers of parts that are still running stop with them
stop_jobs() {
  local name
  for name in "${JOBS[@]}"; do
    [[ ${JOB_STATE[$name]} != running ]] || kill -TERM -- "-${JOB_PID[$name]}" 2>/dev/null
  done
  wait
}

# count_results KIND LOG STATUS: passed and failed
count_results() {
  case $1 in
    cargo) awk '/^test result:/ { ok += $4; bad += $6 } END { print ok + 0, bad + 0 }' "$2" ;;
    lines) awk '/^ok - / { ok++ } /^not ok - / { bad++ } END { print ok + 0, bad + 0 }' "$2" ;;
    *) if (($3 == 0)); then echo "1 0"; else echo "0 1"; fi ;;
  esac
}

# The log has everything; this is what a reader needs first.
show_failure() {
  echo "---- $2"
  case $1 in
    lines) grep -v '^ok - \|^# .* took ' "$2" | head -200 || true ;;
    *) tail -60 "$2" ;;
  esac
  echo "----"
}

# job_finish NAME STATUS
job_finish() {
  local name=$1 status=$2 log kind=${JOB_COUNT[$1]} seconds ok bad skipped
  log=$(job_log "$name")
  seconds=$(seconds_since "${JOB_START[$name]}")
  read -r ok bad < <(count_results "$kind" "$log" "$status")
  # A part can fail without a failed test, for example because it did not compile.
  if ((status != 0 && bad == 0)); then bad=1; fi
  skipped=$(grep -c '^skip - ' "$log" || true)
  PASSED=$((PASSED + ok))
  FAILED=$((FAILED + bad))
  SKIPPED=$((SKIPPED + skipped))
  echo "# $name took $seconds s" >>"$log"
  if ((bad == 0)); then
    JOB_STATE[$name]=passed
    printf 'ok      %7.1f s  %4d passed  %10s  %s\n' "$seconds" "$ok" "$( ((skipped == 0)) || echo "$skipped skipped")" "$name"
  else
    JOB_STATE[$name]=failed
    printf 'FAILED  %7.1f s  %4d passed  %10s  %s\n' "$seconds" "$ok" "$bad failed" "$name"
    show_failure "$kind" "$log"
  fi
}

# Sets FAILED_NEED if a part that this one needs did not pass; returns 1 if one has not ended yet.
needs_ended() {
  local need
  FAILED_NEED=
  while read -r need; do
    case ${JOB_STATE[$need]:-none} in
      passed) ;;
      failed) FAILED_NEED=$need && return ;;
      none) die "part $1 needs $need, which does not exist" ;;
      *) return 1 ;;
    esac
  done < <(printf '%s' "${JOB_NEEDS[$1]:-}")
}

run_jobs() {
  local most=$1 name log left cargo running pass
  while true; do
    left=0 running=0 cargo=
    for name in "${JOBS[@]}"; do
      if [[ ${JOB_STATE[$name]} == running ]]; then
        log=$(job_log "$name")
        if [[ -f $log.status ]]; then
          job_finish "$name" "$(cat "$log.status")"
        elif ! kill -0 "${JOB_PID[$name]}" 2>/dev/null && [[ ! -f $log.status ]]; then
          # Killed, for example because the machine ran out of memory.
          echo "the part was killed" >>"$log"
          job_finish "$name" 137
        else
          running=$((running + 1)) left=1
          cargo+=${JOB_CARGO[$name]:-}
        fi
      fi
    done
    for pass in 1 ''; do
      for name in "${JOBS[@]}"; do
        [[ ${JOB_STATE[$name]} == waiting && ${JOB_CARGO[$name]:-} == "$pass" ]] || continue
        left=1
        needs_ended "$name" || continue
        if [[ -n $FAILED_NEED ]]; then
          JOB_STATE[$name]=failed
          FAILED=$((FAILED + 1))
          printf 'FAILED  %9s  not run, because "%s" failed: %s\n' "" "$FAILED_NEED" "$name"
          continue
        fi
        if ((running == most)) || [[ -n $cargo && -n $pass ]]; then continue; fi
        job_start "$name"
        running=$((running + 1))
        cargo+=$pass
      done
    done
    ((left)) || break
    sleep 0.2
  done
  wait
}

slowest_tests() {
  local name
  for name in "${JOBS[@]}"; do
    [[ ! -f $(job_log "$name") ]] || sed -n 's/^# \(.*\) took \([0-9.]*\) s$/\2 \1/p' "$(job_log "$name")"
  done | sort -rn | awk 'NR <= 5 { seconds = $1; sub(/^[^ ]* /, ""); printf "        %7.1f s  %s\n", seconds, $0 }'
}
