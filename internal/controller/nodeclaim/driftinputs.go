package nodeclaim

import (
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// driftInputs is everything in the API server that the provider's drift result depends on. While it stays the same the last result is
// reused, so that pod events on a busy Node do not become calls to the cloud.
type driftInputs struct {
	poolGeneration, claimGeneration int64
	classVersion, labels            string
}

// labelText writes labels as one canonical string.
func labelText(labels map[string]string) string {
	var b strings.Builder
	for _, r := range requirement.Labels(labels) {
		b.WriteString(r.String())
		b.WriteByte('\n')
	}
	return b.String()
}
