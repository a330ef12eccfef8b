package report

import (
	"io"

	"github.com/karpenter-anew/karpenter/internal/document"
)

// Format is how a document is written.
type Format string

// The formats.
const (
	Text Format = "text"
	JSON Format = Format(document.JSON)
	YAML Format = Format(document.YAML)
)

// Write writes a document. It fails for a format that does not exist and where to fails.
func Write(to io.Writer, d interface{ Text() string }, format Format) error {
	if format == Text {
		_, err := io.WriteString(to, d.Text())
		return err
	}
	return document.Write(to, d, document.Format(format))
}
