package front

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const jsonType = "application/json"

// respond writes a JSON value.
func respond(w http.ResponseWriter, code int, value any) { respondAs(w, jsonType, code, value) }

// respondAs writes a JSON value with a more specific content type.
func respondAs(w http.ResponseWriter, contentType string, code int, value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		http.Error(w, fmt.Sprintf("encoding the response: %v", err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_, _ = w.Write(append(raw, '\n'))
}

// statusOf is the Status that tells a client about an error.
func statusOf(err error) metav1.Status {
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status := known.Status()
		status.Kind, status.APIVersion = "Status", "v1"
		return status
	}
	return statusOf(apierrors.NewInternalError(err))
}

// fail writes an error as a Status.
func fail(w http.ResponseWriter, err error) {
	status := statusOf(err)
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	respond(w, int(status.Code), status)
}

// notFound is the answer for a path that the server does not know.
func notFound(w http.ResponseWriter) {
	http.Error(w, "404 page not found", http.StatusNotFound)
}

// problem is an error with a code that has no constructor.
func problem(code int, reason metav1.StatusReason, format string, args ...any) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: fmt.Sprintf(format, args...), //nolint:gosec // an HTTP code
		Details: &metav1.StatusDetails{},
	}}
}

func methodNotAllowed() error {
	return problem(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "the server does not allow this method on the requested resource")
}

func notImplemented(what string) error {
	return problem(http.StatusNotImplemented, "NotImplemented", "this API server in memory does not implement %s", what)
}

// warnings adds Warning headers.
func warnings(w http.ResponseWriter, texts []string) {
	for _, text := range texts {
		w.Header().Add("Warning", "299 - "+strconv.Quote(strings.ReplaceAll(text, "\n", " ")))
	}
}

// form is how a client wants to see objects.
type form int

const (
	whole form = iota
	table
	metadata
	metadataList
)

// accepted is the first form of the Accept header that the server has, and whether there is one.
func accepted(req *http.Request) (form, bool) {
	header := req.Header.Get("Accept")
	if header == "" {
		return whole, true
	}
	for _, part := range strings.Split(header, ",") {
		kind, parameters := mediaType(part)
		switch kind {
		case jsonType, "*/*", "application/*", "application/vnd.kubernetes.protobuf", "application/yaml", "application/vnd.kubernetes.protobuf;stream=watch":
		default:
			continue
		}
		switch as := parameters["as"]; {
		case as == "":
			return whole, true
		case parameters["g"] != "meta.k8s.io" || parameters["v"] != "v1":
			continue
		case as == "Table":
			return table, true
		case as == "PartialObjectMetadata":
			return metadata, true
		case as == "PartialObjectMetadataList":
			return metadataList, true
		}
	}
	return whole, false
}

// mediaType splits a part of an Accept or Content-Type header.
func mediaType(part string) (string, map[string]string) {
	fields := strings.Split(part, ";")
	parameters := map[string]string{}
	for _, f := range fields[1:] {
		key, value, _ := strings.Cut(strings.TrimSpace(f), "=")
		parameters[key] = strings.Trim(value, `"`)
	}
	return strings.TrimSpace(fields[0]), parameters
}

func notAcceptable(watch bool) error {
	available := "application/json, application/yaml, application/vnd.kubernetes.protobuf"
	if watch {
		available += ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
	}
	return problem(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "406: Not Acceptable\n\nAvailable representations: %s", available)
}
