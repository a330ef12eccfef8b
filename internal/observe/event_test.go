package observe

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

func kindOf(e Event) string { return reflect.TypeOf(e.Object).Elem().Name() }

func TestMessageEdges(t *testing.T) {
	down := metav1.Condition{Type: "Launched", Status: metav1.ConditionUnknown, Reason: "LaunchFailed", Message: "no quota"}
	pod, node, claim := podNamed("a"), &corev1.Node{}, &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	for _, tc := range []struct{ name, got, want string }{
		{"nominated for a claim", Nominated(pod, "c", "").Message, "Pod should schedule on: nodeclaim/c"},
		{"nominated for a node", Nominated(pod, "", "n").Message, "Pod should schedule on: node/n"},
		{"no minValues", NoCompatibleInstanceTypes(&v1.NodePool{}, false).Message, "NodePool requirements filtered out all compatible available instance types"},
		{"few attachments", AwaitingVolumeDetachment(node, []string{"a"}).Message, "Awaiting deletion of bound volumeattachments (a)"},
		{"five attachments", AwaitingVolumeDetachment(node, strings.Split("abcde", "")).Message, "Awaiting deletion of bound volumeattachments (a, b, c, d, e)"},
		{"no cause", DisruptionBlocked(node, nil, "", "")[0].Message, ""},
		{"whole cluster unhealthy", NodeRepairBlocked(node, claim, nil)[0].Message, "more then 20% nodes are unhealthy in the cluster"},
		{"a condition", ConditionChanged(claim, "True", metav1.Condition{Type: "Ready", Status: "False", Reason: "X"}).Message, "Status condition transitioned, Type: Ready, Status: True -> False, Reason: X"},
		{"a condition with a message", ConditionChanged(claim, "True", down).Message, "Status condition transitioned, Type: Launched, Status: True -> Unknown, Reason: LaunchFailed, Message: no quota"},
		{"a condition's reason", ConditionChanged(claim, "True", down).Reason, "Launched"},
		{"a finalizer", Finalized(claim, "karpenter.sh/termination").Message, "Finalized karpenter.sh/termination"},
		{"no grace period", Disrupted(pod, time.Unix(0, 0).UTC(), time.Second, nil).Message[:67], "Deleting the pod to accommodate the terminationTime 1970-01-01 00:0"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, tc.got, tc.want)
		}
	}
	if got := DisruptionBlocked(nil, claim, "X", "x"); len(got) != 1 || kindOf(got[0]) != "NodeClaim" {
		t.Errorf("without a node: %v", got)
	}
	if got := len(DisruptionTerminating(nil, nil, "Empty")); got != 0 {
		t.Errorf("%d events for nothing", got)
	}
}

// readTable returns the lines of a file without comments.
func readTable(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "#") })
}
