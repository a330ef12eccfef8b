package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// PathPrefix begins the formats that print a part of a document: a template follows, such as {.state}.
const PathPrefix = "jsonpath="

// CheckPath reports a mistake in the template of a format that begins with PathPrefix; it returns nil for other formats.
func CheckPath(format Format) error {
	template, is := strings.CutPrefix(string(format), PathPrefix)
	if !is {
		return nil
	}
	_, err := parsePath(template)
	return err
}

// parsePath reads the template of a JSONPath as kubectl does.
func parsePath(template string) (*jsonpath.JSONPath, error) {
	path := jsonpath.New("output").AllowMissingKeys(true)
	if err := path.Parse(template); err != nil {
		return nil, fmt.Errorf("the template is no JSONPath such as {.state}: %w", err)
	}
	return path, nil
}

// writePath writes what a template selects of a document in JSON, and a newline.
func writePath(to io.Writer, text []byte, template string) error {
	path, err := parsePath(template)
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return fmt.Errorf("reading the document again: %w", err)
	}
	var out bytes.Buffer
	if err := path.Execute(&out, value); err != nil {
		return fmt.Errorf("the template %s does not apply to the answer: %w", template, err)
	}
	_, err = fmt.Fprintln(to, out.String())
	return err
}
