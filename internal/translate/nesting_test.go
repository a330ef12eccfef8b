package translate

import (
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestTheNestingOfSelectorsIsBounded: tenants write the selectors of ResourceClaims, and to check the types of 240 maps in each other takes half a minute.
func TestTheNestingOfSelectorsIsBounded(t *testing.T) {
	terms := newDeviceTerms(labelTerms{v1.CoreLabelRules()})
	selection := func(expression string) error {
		_, err := terms.selection([]resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}, nil)
		return err
	}
	for _, brackets := range []string{"{1: }", "[]", "()"} {
		open, closing := brackets[:len(brackets)-1], brackets[len(brackets)-1:]
		if err := selection(strings.Repeat(open, 70) + "1" + strings.Repeat(closing, 70) + " == 1"); err == nil || !strings.Contains(err.Error(), "more than 64 brackets") {
			t.Errorf("%s: error %.200v", brackets, err)
		}
	}
	if err := selection(strings.Repeat("(", 20) + "device.driver == \"(a\"" + strings.Repeat(")", 20)); err != nil {
		t.Error(err)
	}
}
