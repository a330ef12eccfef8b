package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/karpenter-anew/karpenter/internal/document"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// Output is how a command prints: one of the words of the tag complete of its flag, or jsonpath= with a template.
type Output string

// The formats that several commands have.
const (
	OutputText  Output = "text"
	OutputTable Output = "table"
	OutputWide  Output = "wide"
	OutputName  Output = "name"
	OutputJSON         = Output(document.JSON)
	OutputYAML         = Output(document.YAML)
)

// Decode implements kong.MapperValue.
func (o *Output) Decode(ctx *kong.DecodeContext) error {
	known := strings.Split(ctx.Value.Tag.Get("complete"), ",")
	return options.DecodeText(ctx, o, func(text string) (Output, error) {
		format := document.Format(text)
		if err := document.CheckPath(format); err != nil {
			return "", err
		}
		if !strings.HasPrefix(text, document.PathPrefix) && !slices.Contains(known, text) {
			return "", fmt.Errorf("allowed: %s, %sTEMPLATE", strings.Join(known, ", "), document.PathPrefix)
		}
		return Output(text), nil
	})
}

// Document is the format of a document in JSON, YAML or by a template.
func (o Output) Document() document.Format { return document.Format(o) }
