// Package document writes values as JSON or YAML documents, as all commands print them.
package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// Format is how a document is written.
type Format string

// The formats.
const (
	JSON Format = "json"
	YAML Format = "yaml"
)

// Write writes a value, whose fields have JSON tags, indented, or what a template selects of it. It fails for a format that does not exist and where to fails.
func Write(to io.Writer, value any, format Format) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("encoding the document: %w", err)
	}
	text := b.Bytes()
	template, isPath := strings.CutPrefix(string(format), PathPrefix)
	switch {
	case isPath:
		return writePath(to, text, template)
	case format == JSON:
	case format == YAML:
		var err error
		if text, err = yaml.JSONToYAML(text); err != nil {
			return fmt.Errorf("encoding the document as YAML: %w", err)
		}
	default:
		return fmt.Errorf("unknown format %q: known are %s, %s and %sTEMPLATE", format, JSON, YAML, PathPrefix)
	}
	_, err := to.Write(text)
	return err
}
