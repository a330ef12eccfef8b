package awstest

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// protocol is the wire protocol of a service.
type protocol struct {
	service, contentType string
	// write writes a response or an error, and returns the status.
	write func(w io.Writer, operation, requestID string, answer any, err error) int
}

// asRefusal returns err as an API error. Any other error is a defect of this package.
func asRefusal(err error) *apiError {
	var refusal *apiError
	if errors.As(err, &refusal) {
		return refusal
	}
	return &apiError{status: http.StatusInternalServerError, code: "InternalError", message: err.Error()}
}

// ec2Protocol is the EC2 variant of the query protocol.
func ec2Protocol() protocol {
	return protocol{service: "EC2", contentType: "text/xml;charset=UTF-8", write: func(w io.Writer, operation, requestID string, answer any, err error) int {
		if err != nil {
			refusal := asRefusal(err)
			writeXML(w, "Response", struct {
				Code      string `xml:"Errors>Error>Code"`
				Message   string `xml:"Errors>Error>Message"`
				RequestID string
			}{refusal.code, refusal.message, requestID})
			return refusal.status
		}
		if answer == nil {
			answer = struct{}{}
		}
		writeXML(w, operation+"Response", answer)
		return http.StatusOK
	}}
}

// queryProtocol is the query protocol of the other services.
func queryProtocol(service, namespace string) protocol {
	return protocol{service: service, contentType: "text/xml", write: func(w io.Writer, operation, requestID string, answer any, err error) int {
		if err != nil {
			refusal := asRefusal(err)
			writeXML(w, "ErrorResponse", struct {
				Namespace string `xml:"xmlns,attr"`
				Code      string `xml:"Error>Code"`
				Message   string `xml:"Error>Message"`
				RequestID string `xml:"RequestId"`
			}{namespace, refusal.code, refusal.message, requestID})
			return refusal.status
		}
		writeXML(w, operation+"Response", struct {
			Namespace string `xml:"xmlns,attr"`
			Result    named
			RequestID string `xml:"ResponseMetadata>RequestId"`
		}{namespace, named{operation + "Result", answer}, requestID})
		return http.StatusOK
	}}
}

// named is a response in an element with this name.
type named struct {
	name   string
	answer any
}

// MarshalXML writes the element.
func (n named) MarshalXML(e *xml.Encoder, _ xml.StartElement) error {
	start := xml.StartElement{Name: xml.Name{Local: n.name}}
	if n.answer == nil {
		return e.EncodeElement(struct{}{}, start)
	}
	return e.EncodeElement(n.answer, start)
}

func writeXML(w io.Writer, name string, value any) {
	if err := xml.NewEncoder(w).EncodeElement(value, xml.StartElement{Name: xml.Name{Local: name}}); err != nil {
		panic(fmt.Sprintf("writing %s: %v", name, err)) // the answers of this package can be written
	}
}

// jsonProtocol is JSON with the operation in a header.
func jsonProtocol(service string) protocol {
	contentType := "application/x-amz-json-1.1"
	if service == "AmazonSQS" {
		contentType = "application/x-amz-json-1.0"
	}
	return protocol{service: service, contentType: contentType, write: func(w io.Writer, _, _ string, answer any, err error) int {
		return writeJSON(w, answer, err)
	}}
}

// restProtocol is JSON with the operation in the path.
func restProtocol(service string) protocol {
	return protocol{service: service, contentType: "application/json", write: func(w io.Writer, _, _ string, answer any, err error) int {
		return writeJSON(w, answer, err)
	}}
}

func writeJSON(w io.Writer, answer any, err error) int {
	status := http.StatusOK
	if err != nil {
		refusal := asRefusal(err)
		status = refusal.status
		answer = map[string]string{"__type": refusal.code, "code": refusal.code, "message": refusal.message}
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(fmt.Sprintf("writing an answer: %v", err)) // the answers of this package can be written
	}
	return status
}
