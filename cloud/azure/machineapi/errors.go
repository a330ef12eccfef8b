package machineapi

import (
	"errors"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// Error is an error of Azure that is not the answer to a dedicated request: one of an AKSMachine in a batch, or of one whose virtual machine
// could not be created.
type Error struct{ Code, Message string }

// Error implements error.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// CodeOf returns the code of an error of Azure, and the text in which a cause is looked for. The code is empty if the error is none of Azure.
func CodeOf(err error) (code, text string) {
	var known *Error
	if errors.As(err, &known) {
		return known.Code, known.Message
	}
	var response *azcore.ResponseError
	if errors.As(err, &response) {
		return response.ErrorCode, response.Error()
	}
	return "", ""
}

// IsNotFound reports whether an error says that an AKSMachine does not exist, or its agent pool does not. AKS answers with status 404, or
// with 400 if none of the names to delete exists.
func IsNotFound(err error) bool {
	if errors.Is(err, errNone) {
		return true
	}
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		return false
	}
	return response.StatusCode == http.StatusNotFound ||
		response.StatusCode == http.StatusBadRequest && response.ErrorCode == "InvalidParameter" && strings.Contains(response.Error(), "Cannot find any valid")
}

// AlreadyExists reports whether an AKSMachine was not created because, it seems, there is one with the name.
func AlreadyExists(err error) bool {
	var response *azcore.ResponseError
	if errors.As(err, &response) && (response.StatusCode == http.StatusPreconditionFailed || response.StatusCode == http.StatusConflict) {
		return true
	}
	var known *Error
	return errors.As(err, &known) && (known.Code == "Conflict" || known.Code == "PreconditionFailed")
}
