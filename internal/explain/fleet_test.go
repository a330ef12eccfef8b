package explain

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
)

// TestCauseOfGracefulNodes: drift does not wait for the pods of a node with a terminationGracePeriod, nor is a node blocked that is being disrupted.
func TestCauseOfGracefulNodes(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]client.Object)
		want   disrupt.Code
	}{
		"without a grace period":        {func([]client.Object) {}, disrupt.PDBBlocked},
		"with a grace period":           {graceful("web-1"), ""},
		"a command for it is under way": {disrupting("web-1"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := NewAnalysis(t.Context(), shop(t, quiet, drifted("web-1"), c.change))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := s.Causes()["node-1"], (Cause{disrupt.Drifted, c.want}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}
