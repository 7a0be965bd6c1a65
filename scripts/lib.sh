# Shared by the scripts beside it, which source it with $root set to the checkout.
# shellcheck shell=sh disable=SC2154

venv=${VANCETOPE_VENV:-$root/.venv}
case $venv in
    /*) ;;
    *) venv=$PWD/$venv ;;
esac

die() {
    printf '%s\n' "$@" >&2
    exit 1
}

# Can this command run a Python that is new enough?
usable_python() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# Set $python to a Python >= 3.11: $PYTHON if that is set, else the first one found.
find_python() {
    if [ -n "${PYTHON:-}" ]; then
        usable_python "$PYTHON" || die \
            "PYTHON=$PYTHON is not a Python 3.11 or newer." \
            "Set PYTHON to one, or unset it to search the PATH."
        python=$PYTHON
        return
    fi
    for python in python3 python3.13 python3.12 python3.11 python3.14 python; do
        if usable_python "$python"; then
            return
        fi
    done
    die "No Python 3.11 or newer was found on the PATH." \
        "Install one (Debian, Ubuntu: sudo apt install python3 python3-venv; macOS:" \
        "brew install python), or set PYTHON=/path/to/python3."
}

# Is the environment what the checkout asks for now? `prepare.py` leaves in .ready
# a copy of each file it was made from, so that this costs two comparisons.
environment_is_ready() {
    [ -x "$venv/bin/python" ] && [ -x "$venv/bin/vancetope" ] &&
        [ ! -e "$venv/.unfinished" ] &&
        { IFS= read -r made_for <"$venv/.ready/root"; } 2>/dev/null &&
        [ "$made_for" = "$root" ] &&
        cmp -s "$root/pyproject.toml" "$venv/.ready/pyproject.toml" &&
        cmp -s "$root/scripts/requirements/$1.txt" "$venv/.ready/$1.txt"
}

# prepare runtime|dev: make the environment, or bring it up to date. All it says goes
# to stderr, and it reads nothing: stdin and stdout belong to the command that follows.
prepare() {
    environment_is_ready "$1" && return
    find_python
    "$python" "$root/scripts/prepare.py" "$root" "$venv" "$1" </dev/null >&2 || exit $?
}
