package machinebatch

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
)

// Codes of errors that list AKSMachines. In the second one, the list is in the message, as JSON.
const (
	codeClientError   = "BatchMachineClientError"
	codeInternalError = "BatchMachineInternalServerError"
)

// answer is an error of Azure for a batch.
type answer struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Details []detail `json:"details"`
}

// detail is an error of one AKSMachine.
type detail struct {
	Target  string `json:"target"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// errUnreadable says that an answer about single AKSMachines cannot be understood.
var errUnreadable = errors.New("the answer does not say which AKSMachines it is about")

// distribute returns the error of each AKSMachine of a batch, given that of the request. An answer that lists AKSMachines is about those; the
// others were requested. All other answers are about each. What cannot be understood is an error of each that is none of Azure, so that
// no conclusion is drawn from it.
func distribute(batch []machineapi.InBatch, err error) []error {
	if err == nil {
		return make([]error, len(batch))
	}
	got, ok := readAnswer(err)
	if !ok {
		return everyone(len(batch), operational(len(batch), err))
	}
	var details []detail
	inMessage := detailsIn(got.Message)
	switch got.Code {
	case codeClientError:
		if details = got.Details; inMessage != nil {
			details = nil // both kinds at once
		}
	case codeInternalError:
		if details = inMessage; len(got.Details) > 0 {
			details = nil
		}
	default:
		return everyone(len(batch), &machineapi.Error{Code: got.Code, Message: got.Message})
	}
	out, ok := perTarget(batch, details)
	if !ok {
		return everyone(len(batch), operational(len(batch), fmt.Errorf("%w: %s: %s", errUnreadable, got.Code, got.Message)))
	}
	return out
}

// perTarget returns the errors of the AKSMachines of a batch. It is false unless there are details, each about one of the batch.
func perTarget(batch []machineapi.InBatch, details []detail) ([]error, bool) {
	places := make(map[string]int, len(batch))
	for i := range batch {
		places[batch[i].Name] = i
	}
	out := make([]error, len(batch))
	for _, d := range details {
		i, known := places[d.Target]
		if !known || d.Code == codeClientError || d.Code == codeInternalError {
			return nil, false
		}
		if out[i] == nil {
			out[i] = &machineapi.Error{Code: d.Code, Message: d.Message}
		}
	}
	return out, len(details) > 0
}

// readAnswer reads the body of an error of Azure, with or without an object around it. It is false if there is none.
func readAnswer(err error) (answer, bool) {
	var response *azcore.ResponseError
	if !errors.As(err, &response) || response.RawResponse == nil {
		return answer{}, false
	}
	text, err := runtime.Payload(response.RawResponse)
	if err != nil {
		return answer{}, false
	}
	var wrapped struct {
		Error answer `json:"error"`
	}
	if json.Unmarshal(text, &wrapped) == nil && wrapped.Error.Code != "" {
		return wrapped.Error, true
	}
	var flat answer
	return flat, json.Unmarshal(text, &flat) == nil && flat.Code != ""
}

// detailsIn reads the details that a message consists of; nil if it is an ordinary text.
func detailsIn(message string) []detail {
	var list []detail
	if json.Unmarshal([]byte(message), &list) == nil {
		return list
	}
	var object answer
	if json.Unmarshal([]byte(message), &object) == nil {
		return object.Details
	}
	return nil
}

// operational is an error that concerns all AKSMachines of a batch. It does not unwrap to an answer of Azure.
func operational(size int, err error) error {
	if errors.As(err, new(*azcore.ResponseError)) {
		return fmt.Errorf("requesting %d AKSMachines: %s", size, err.Error())
	}
	return fmt.Errorf("requesting %d AKSMachines: %w", size, err)
}

// everyone returns the same error for each AKSMachine of a batch.
func everyone(size int, err error) []error {
	out := make([]error, size)
	for i := range out {
		out[i] = err
	}
	return out
}
