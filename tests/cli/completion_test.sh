# The completion scripts are valid, and the one for bash completes verbs, options and values.
glint=$1
source "$2/tests/cli/check.sh"

for shell in bash zsh fish; do
  run completion $shell
  expect_code 0
  cp "$work/out" "$work/script.$shell"
  for verb in $(verbs); do grep -qw -e "$verb" "$work/script.$shell" || fail "$shell: no verb $verb"; done
  for flag in gate lambda json; do grep -qw -e "$flag" "$work/script.$shell" || fail "$shell: no --$flag"; done
  if command -v $shell >/dev/null; then
    $shell -n "$work/script.$shell" || fail "$shell does not accept its script"
  fi
done

source "$work/script.bash"
# completes "WORDS..." EXPECTED...: the last word is the one at the cursor.
completes() {
  read -ra COMP_WORDS <<<"$1"
  [ "${1: -1}" != " " ] || COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  shift
  _glint
  [ "${COMPREPLY[*]}" = "$*" ] || fail "'${COMP_WORDS[*]}' completes to '${COMPREPLY[*]}', expected '$*'"
}
completes "glint ga" gates
completes "glint --ver" --version
completes "glint gates --ga" --gate
completes "glint gates --gate sq" sqs
completes "glint gates --gate = ge" "gelu gelu-tanh"
completes "glint gates --gate relu --js" --json
completes "glint completion " bash zsh fish --help
completes "glint help ga" gates
completes "glint help readin" reading
completes "glint gates --plot fig"
completes "glint train qui" quick
completes "glint train mnist-4.1 --ga" --gate
for shell in bash zsh fish; do
  for recipe in "$2"/recipes/*.toml; do
    grep -qw -e "$(basename "$recipe" .toml)" "$work/script.$shell" || fail "$shell: no recipe $recipe"
  done
done
finish
