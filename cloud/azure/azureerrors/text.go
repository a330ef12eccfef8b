package azureerrors

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// Text is an error as users read it: what failed, the code of Azure, what to do in parentheses, and the message of Azure. The SDK writes the URL of
// the request and the whole response instead, of which conditions and events, which are short, would show the URL only.
func Text(err error) string {
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		return err.Error()
	}
	message := messageOf(response)
	if response.ErrorCode == "" || message == "" {
		return err.Error()
	}
	text := response.ErrorCode
	if remedy := remedyFor(response.ErrorCode, message); remedy != "" {
		text += " (" + remedy + ")"
	}
	return strings.Replace(err.Error(), response.Error(), text+": "+message, 1)
}

// readable is an error whose text is Text.
type readable struct{ error }

// Error implements error.
func (r readable) Error() string { return Text(r.error) }

// Unwrap returns the error as the SDK wrote it.
func (r readable) Unwrap() error { return r.error }

// messageOf is the message of the error in a response, or of the operation that failed; empty if there is none.
func messageOf(e *azcore.ResponseError) string {
	if e.RawResponse == nil {
		return ""
	}
	body, err := runtime.Payload(e.RawResponse)
	if err != nil {
		return ""
	}
	var answer struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
		Message string `json:"message"` // of services that do not wrap it
	}
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	if answer.Error.Message != "" {
		return answer.Error.Message
	}
	return answer.Message
}

// remedies are what to do about errors that do not end by themselves; the first one that matches counts.
func remedies() []struct{ code, contains, remedy string } {
	const (
		subnetFull = "use a larger subnet in spec.vnetSubnetID of the AKSNodeClass, or a lower spec.maxPods if pods have addresses of it"
		access     = "assign the role that permits it to the identity of the controller"
		credential = "check the credential of the controller"
	)
	return []struct{ code, contains, remedy string }{
		{codeSubnetFull, "", subnetFull},
		{codeSubnetTooSmall, "", subnetFull},
		{"InvalidResourceReference", "/subnets/", "restore the subnet, or set spec.vnetSubnetID of the AKSNodeClass to one that exists"},
		{"OperationNotAllowed", "LowPriorityCores", "request more spot quota, or allow on-demand in the NodePool"},
		{"OperationNotAllowed", "Family Cores quota", "request more quota for the family, or allow other families in the NodePool"},
		{"OperationNotAllowed", "Total Regional Cores quota", "request more quota for the region"},
		{"AuthorizationFailed", "", access},
		{"LinkedAuthorizationFailed", "", access},
		{"InvalidAuthenticationToken", "", credential},
		{"RequestDisallowedByPolicy", "", "change the policy of Azure, or set the tags that it requires in spec.tags of the AKSNodeClass"},
	}
}

func remedyFor(code, message string) string {
	for _, r := range remedies() {
		if r.code == code && strings.Contains(message, r.contains) {
			return r.remedy
		}
	}
	return ""
}
