package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/document"
)

// Format is how a report is written.
type Format string

// The formats.
const (
	Table Format = "table"
	JSON  Format = Format(document.JSON)
	YAML  Format = Format(document.YAML)
)

// Write renders the report. It fails for a format that does not exist and where to fails.
func (r Report) Write(to io.Writer, format Format) error {
	if format == Table {
		_, err := io.WriteString(to, r.table())
		return err
	}
	if format != JSON && format != YAML && !strings.HasPrefix(string(format), document.PathPrefix) {
		return fmt.Errorf("unknown format %q: known are %s, %s, %s", format, Table, JSON, YAML)
	}
	return document.Write(to, r, document.Format(format))
}
