package e2e

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
)

// TestPodsAreNominated: with the feature gate, the API server takes the nominations of pods, and all of them end. kube-scheduler may bind a pod
// before it is nominated: how many are depends on which of both sees the node first. Those that the API server answers too late do not count either.
func TestPodsAreNominated(t *testing.T) {
	t.Parallel()
	t.Attr("covers", "N486 N488")
	w := begin(t)
	p := w.controller("--feature-gates=NominatedNodeName=true")
	w.create(class(), pool(cores("4")), deployment("web", 6, "1500m"))
	w.awaitRunning(6)
	w.awaitNodes(3)
	w.await("all nominations end", patience, func() string {
		_, body, err := p.get("metrics", "/metrics")
		if err != nil {
			return err.Error()
		}
		counts := map[string]int{}
		for _, match := range regexp.MustCompile(`karpenter_pods_nominations_total{result="(\w+)"} (\d+)`).FindAllStringSubmatch(body, -1) {
			counts[match[1]], _ = strconv.Atoi(match[2])
		}
		if counts["error"] > 0 {
			w.t.Fatalf("nominations: %v", counts)
		}
		if counts["written"] != counts["bound"]+counts["bound_elsewhere"]+counts["cleared"] {
			return fmt.Sprint(counts)
		}
		return ""
	})
	for _, pod := range w.pods() {
		if pod.Status.NominatedNodeName != "" {
			t.Errorf("pod %q runs on %q and is nominated to %q", pod.Name, pod.Spec.NodeName, pod.Status.NominatedNodeName)
		}
	}
}
