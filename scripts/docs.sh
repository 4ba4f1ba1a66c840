#!/usr/bin/env bash
# Builds the documents as a site with search, and with the public API's reference from its comments:
# build/docs/index.html. A link that leads nowhere is an error. `--serve` shows it at http://127.0.0.1:8000 and
# follows edits.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# Material announces its successor on every build.
export NO_MKDOCS_2_WARNING=1

need python docs
python_environment scripts/requirements.txt plots/requirements.txt tests/requirements.txt docs/site/requirements.txt
case ${1:-} in
  '') exec mkdocs build --clean --config-file docs/site/mkdocs.yml ;;
  --serve) exec mkdocs serve --config-file docs/site/mkdocs.yml --watch docs ;;
  *) echo "usage: scripts/docs.sh [--serve]" >&2; exit 2 ;;
esac
