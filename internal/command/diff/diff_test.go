package diff

import (
	"testing"

	"github.com/karpenter-anew/karpenter/test/commandtest"
)

// TestDiff runs the cases in testdata.
func TestDiff(t *testing.T) {
	commandtest.Cases(t, "testdata", func(_ *testing.T, stdin string, args []string) commandtest.Outcome {
		line := &struct {
			Diff Command `cmd:""`
		}{New(commandtest.Binary())}
		return commandtest.Run(line, stdin, append([]string{"diff"}, args...)...)
	})
}
