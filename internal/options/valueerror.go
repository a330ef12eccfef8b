package options

import "fmt"

// ValueError reports an invalid value, its source and the allowed values.
type ValueError struct {
	// Flag is the name without dashes.
	Flag string
	// Env is the environment variable the value came from; empty when it came from the command line.
	Env string
	// Value is the text as given.
	Value string
	// Reason is the violation and the allowed values.
	Reason string
}

// Error names the source, the value and the allowed values.
func (e *ValueError) Error() string {
	if e.Env != "" {
		return fmt.Sprintf("environment variable %s=%q (flag --%s): %s", e.Env, e.Value, e.Flag, e.Reason)
	}
	return fmt.Sprintf("flag --%s=%q: %s", e.Flag, e.Value, e.Reason)
}
