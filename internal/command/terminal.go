package command

import (
	"os"

	"golang.org/x/term"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// Colors reports whether what is written to a file may have colors: if it is a terminal that knows them, and NO_COLOR (https://no-color.org) does not
// ask for none.
func Colors(file *os.File, env options.LookupEnv) bool {
	if off, _ := env("NO_COLOR"); off != "" {
		return false
	}
	if kind, _ := env("TERM"); kind == "dumb" {
		return false
	}
	return term.IsTerminal(int(file.Fd())) //nolint:gosec // a file descriptor is a small number
}
