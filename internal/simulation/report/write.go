package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// Format is how a report is written.
type Format string

// The formats.
const (
	Table Format = "table"
	JSON  Format = "json"
	YAML  Format = "yaml"
)

// Write renders the report. It fails for a format that does not exist and where to fails.
func (r Report) Write(to io.Writer, format Format) error {
	var text []byte
	switch format {
	case Table:
		text = []byte(r.table())
	case JSON, YAML:
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(r); err != nil {
			return fmt.Errorf("encoding the report: %w", err)
		}
		text = b.Bytes()
		if format == YAML {
			var err error
			if text, err = yaml.JSONToYAML(text); err != nil {
				return fmt.Errorf("encoding the report as YAML: %w", err)
			}
		}
	default:
		return fmt.Errorf("unknown format %q: known are %s, %s, %s", format, Table, JSON, YAML)
	}
	_, err := to.Write(text)
	return err
}
