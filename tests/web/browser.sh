# What the tests of the page begin with; source it with the test's own arguments. Skips the test where there is no
# node or no playwright-core.
glint=$1
source "$2/tests/cli/check.sh"
web=$2/tests/web
cd "$2" || exit 1 # the recipes are there

command -v node >/dev/null || { echo "skipped: node is not installed"; exit 77; }
[ -d "$web/node_modules/playwright-core" ] ||
  { echo "skipped: playwright-core is not installed; scripts/setup test installs it with npm"; exit 77; }
