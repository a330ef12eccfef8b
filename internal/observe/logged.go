package observe

import "errors"

// loggedError is an error that needs no further line.
type loggedError struct{ error }

func (e loggedError) Unwrap() error { return e.error }

// Logged marks an error that was logged where it occurred and that many callers return: the logger drops lines that report it.
func Logged(err error) error { return loggedError{err} }

// isLogged reports whether all errors that err joins are marked with Logged.
func isLogged(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, each := range joined.Unwrap() {
			if !isLogged(each) {
				return false
			}
		}
		return len(joined.Unwrap()) > 0
	}
	if _, ok := err.(loggedError); ok { //nolint:errorlint // the chain is walked here
		return true
	}
	inner := errors.Unwrap(err)
	return inner != nil && isLogged(inner)
}
