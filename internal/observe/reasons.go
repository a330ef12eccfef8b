package observe

import (
	"fmt"
	"strings"

	"github.com/karpenter-anew/karpenter/api/condition"
)

const (
	// MaxReasons is the maximum number of reasons that one message lists.
	MaxReasons = 5
	// maxJoined leaves space in a message for the words before the reasons.
	maxJoined = condition.MaxMessageBytes - 64
)

// JoinReasons lists at most MaxReasons reasons in a little less than condition.MaxMessageBytes, and the number of the others. Where that is
// too little for all, each reason gets the same share, so that a long one does not hide the next.
func JoinReasons(reasons []string) string {
	const separator = "; "
	listed, more := reasons[:min(len(reasons), MaxReasons)], ""
	if others := len(reasons) - len(listed); others > 0 {
		more = fmt.Sprintf("; and %d more", others)
	}
	text := strings.Join(listed, separator) + more
	if len(text) <= maxJoined {
		return text
	}
	share := (maxJoined-len(more))/len(listed) - len(separator)
	cut := make([]string, len(listed))
	for i, reason := range listed {
		cut[i] = condition.Truncate(reason, share)
	}
	return strings.Join(cut, separator) + more
}
