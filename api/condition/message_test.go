package condition_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/karpenter-anew/karpenter/api/condition"
)

func TestMessagesAreTruncated(t *testing.T) {
	for name, text := range map[string]string{
		"ascii": strings.Repeat("x", 2*condition.MaxMessageBytes), "wide characters": strings.Repeat("é", condition.MaxMessageBytes), "one byte too long": strings.Repeat("x", condition.MaxMessageBytes+1),
	} {
		got := condition.TruncateMessage(text)
		if len(got) > condition.MaxMessageBytes || len(got) < condition.MaxMessageBytes-4 || !utf8.ValidString(got) || !strings.HasSuffix(got, "...") {
			t.Errorf("%s: %d bytes, valid %t, end %q", name, len(got), utf8.ValidString(got), got[len(got)-5:])
		}
	}
	for _, text := range []string{"", "short", strings.Repeat("x", condition.MaxMessageBytes)} {
		if got := condition.TruncateMessage(text); got != text {
			t.Errorf("a text of %d bytes became %q", len(text), got)
		}
	}
}
