package azuretest

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// apiError is an error of ARM.
type apiError struct {
	status        int
	code, message string
	// retryAfter is sent as Retry-After if positive.
	retryAfter time.Duration
	// details are further errors, as ARM shows them.
	details []map[string]any
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

// refuse returns a client error.
func refuse(status int, code, format string, args ...any) error {
	return &apiError{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

// body is the error as ARM shows it in answers and operations.
func (e *apiError) body() map[string]any {
	out := map[string]any{"code": e.code, "message": e.message}
	if e.details != nil {
		out["details"] = e.details
	}
	return out
}

// refusalOf is the answer for an error.
func refusalOf(err error) *response {
	known := asAPIError(err)
	header := http.Header{}
	header.Set("x-ms-error-code", known.code)
	if known.retryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(int(known.retryAfter.Seconds())))
	}
	return &response{status: known.status, header: header, body: map[string]any{"error": known.body()}}
}

// asAPIError is an error as one of ARM.
func asAPIError(err error) *apiError {
	var known *apiError
	if errors.As(err, &known) {
		return known
	}
	return &apiError{status: http.StatusInternalServerError, code: "InternalServerError", message: err.Error()}
}
