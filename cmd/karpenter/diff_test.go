package main

import "testing"

// TestDiff runs the cases in testdata/diff.
func TestDiff(t *testing.T) {
	runCases(t, "diff", func(_ *testing.T, stdin string, args []string) outcome {
		return command(stdin, append([]string{"diff"}, args...)...)
	})
}
