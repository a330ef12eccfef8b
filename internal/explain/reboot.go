package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// RebootStep is what a reboot waits for.
type RebootStep string

// The steps of a reboot.
const (
	// Draining nodes are rebooted once their pods are gone.
	Draining RebootStep = "Draining"
	// Issuing is the request to the cloud, once the node is drained.
	Issuing RebootStep = "Issuing"
	// Returning nodes have to be ready with another boot ID: the cloud has accepted the reboot.
	Returning RebootStep = "Returning"
	// Failing reboots cannot be done.
	Failing RebootStep = "Failing"
)

// Reboot is a reboot that has not ended.
type Reboot struct {
	// Requested is when it was requested, and Message what the request says.
	Requested time.Time  `json:"requested"`
	Message   string     `json:"message,omitempty"`
	Step      RebootStep `json:"step"`
	// Until is when the step ends at the latest; null for never or unknown.
	Until *time.Time `json:"until"`
	// Holding is the first of the node's pods that the drain cannot evict now, in words.
	Holding string `json:"holding,omitempty"`
	// Error is why the reboot fails.
	Error string `json:"error,omitempty"`
}

// rebootOf is the reboot of a node that has not ended; nil for none.
func rebootOf(s *analysis, n *model.Node, claim *v1.NodeClaim) *Reboot {
	c := meta.FindStatusCondition(claim.Status.Conditions, v1.ConditionTypeRebooting)
	if c == nil || c.Status != metav1.ConditionTrue {
		return nil
	}
	out := &Reboot{Requested: c.LastTransitionTime.UTC(), Message: strings.TrimSpace(c.Message)}
	_, drained := claim.Annotations[v1.RebootPreBootIDAnnotationKey]
	bound, err := cloud.RebootDrainBound(claim)
	switch {
	case c.Reason == v1.RebootReasonIssued:
		out.Step = Returning
		if since := meta.FindStatusCondition(claim.Status.Conditions, v1.ConditionTypeInitialized); since != nil && since.Status == metav1.ConditionUnknown {
			out.Until = known(since.LastTransitionTime.Add(cloud.RebootRecoveryTimeout))
		}
	case drained:
		out.Step = Issuing
	case err != nil:
		out.Step, out.Error = Failing, err.Error()
	default:
		out.drain(s, n, bound)
	}
	return out
}

// drain adds how long the drain may last, and what it waits for.
func (r *Reboot) drain(s *analysis, n *model.Node, bound *time.Duration) {
	r.Step = Draining
	if bound != nil {
		r.Until = known(r.Requested.Add(max(*bound, cloud.MinDrain)))
		if *bound == 0 || !r.Until.After(s.Options.Now) {
			r.Step, r.Until = Issuing, nil
			return
		}
	}
	leaving := slices.DeleteFunc(slices.Clone(s.view.Pods[n.NodeName]), podrules.ToleratesReboot)
	if found := problem.InspectPods(n, leaving, s.view.PDBs, s.view.PDBLimits, s.Options.Now); found.Blocked {
		r.Holding = s.obstacle(found.Obstacle).Message
	}
}

// text is a line for the reboot, and one for what its drain waits for.
func (r *Reboot) text() string {
	head, until := "  Rebooting since "+r.Requested.Format(time.RFC3339), ""
	if r.Message != "" {
		head += " (" + r.Message + ")"
	}
	if r.Until != nil {
		until = r.Until.Format(time.RFC3339)
	}
	switch r.Step {
	case Returning:
		head += ": the cloud has accepted the reboot, and the node has to be ready with another boot ID"
		if until != "" {
			head += " until " + until
		}
		return head + "; otherwise its NodeClaim is deleted\n"
	case Issuing:
		return head + ": the drain has ended, and the cloud has to accept the reboot\n"
	case Failing:
		return head + ": it fails: " + r.Error + "\n"
	}
	head += ": it is drained first, "
	if until != "" {
		head += "until its pods are gone, at the latest until " + until + "\n"
	} else {
		head += fmt.Sprintf("until its pods are gone: the annotation %s would limit that\n", v1.RebootTerminationGracePeriodAnnotationKey)
	}
	if r.Holding != "" {
		head += "    its drain waits: " + r.Holding + "\n"
	}
	return head
}
