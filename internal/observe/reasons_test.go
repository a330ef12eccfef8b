package observe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/api/condition"
)

func TestReasonsAreJoined(t *testing.T) {
	var many []string
	for i := range 8 {
		many = append(many, fmt.Sprintf("reason %d", i))
	}
	for _, tt := range []struct {
		name    string
		reasons []string
		want    string
	}{
		{"none", nil, ""},
		{"five", many[:5], "reason 0; reason 1; reason 2; reason 3; reason 4"},
		{"eight", many, "reason 0; reason 1; reason 2; reason 3; reason 4; and 3 more"},
	} {
		if got := JoinReasons(tt.reasons); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	many[0] = "long " + strings.Repeat("x", 1<<20)
	got := JoinReasons(many)
	if len(got) > condition.MaxMessageBytes-64 || !strings.Contains(got, "...; reason 1; ") || !strings.HasSuffix(got, "; and 3 more") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
