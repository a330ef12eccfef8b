package command

// The exit codes of all commands.
const (
	// ExitOK: the command did what it is for.
	ExitOK = 0
	// ExitFailed: the command failed.
	ExitFailed = 1
	// ExitUsage: the command line is invalid, or the input cannot be used.
	ExitUsage = 2
	// ExitUnplaced: some pods of the simulation do not fit.
	ExitUnplaced = 3
	// ExitNotFound: no object of that name exists.
	ExitNotFound = 3
)

// codedError is an error that chooses the exit code.
type codedError struct {
	error
	code int
}

// Unwrap returns the error without the code.
func (e codedError) Unwrap() error { return e.error }

// WithCode returns an error with which a command ends with an exit code.
func WithCode(err error, code int) error { return codedError{err, code} }
