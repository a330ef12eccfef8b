package machinebatch

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/karpenter-anew/karpenter/cloud/azure/machineapi"
)

// FuzzDistribute answers a batch with any text. A refused batch never counts as accepted as a whole, and an error that is about the whole batch
// does not seem to be an answer about one AKSMachine.
func FuzzDistribute(f *testing.F) {
	const detail = `{"target":"two","code":"VMSizeNotSupported","message":"no such size"}`
	quoted := strings.ReplaceAll(detail, `"`, `\"`)
	for _, body := range []string{
		"", "null", "[]", `{"error":null}`, `{"error":{"code":1}}`, `<html>`, `{"code":"BadRequest"}`,
		`{"error":{"code":"BatchMachineClientError","details":[` + detail + `]}}`, `{"error":{"code":"BatchMachineClientError","details":[null]}}`,
		`{"error":{"code":"BatchMachineInternalServerError","message":"[` + quoted + `]"}}`, `{"error":{"code":"BatchMachineInternalServerError","message":"null"}}`,
		`{"error":{"code":"BatchMachineInternalServerError","message":"{\"details\":[` + quoted + `]}"}}`,
	} {
		f.Add(400, body)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		batch := []machineapi.InBatch{{Name: "one"}, {Name: "two"}, {Name: "three"}}
		err := runtime.NewResponseError(&http.Response{
			StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: &http.Request{Method: http.MethodPut, URL: &url.URL{}},
		})
		got := distribute(batch, err)
		if len(got) != len(batch) {
			t.Fatalf("%d errors", len(got))
		}
		refused, operational := 0, 0
		for _, err := range got {
			var one *machineapi.Error
			var response *azcore.ResponseError
			switch {
			case err == nil:
				continue
			case errors.As(err, &response):
				t.Errorf("an error unwraps to the answer: %v", err)
			case !errors.As(err, &one):
				operational++
			}
			refused++
			_ = err.Error()
		}
		if refused == 0 {
			t.Errorf("all were accepted, in spite of status %d and %q", status, body)
		}
		if operational > 0 && operational < len(batch) {
			t.Errorf("an error of the whole batch is one of %d", operational)
		}
	})
}
