package explain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
)

// addArrival adds what a node waits for that is not registered or initialized yet, as the first condition of its NodeClaim that is not True says,
// and when the controller deletes the NodeClaim for that.
func addArrival(s *analysis, shown *Obstacle, o disrupt.Obstacle) {
	found, ok := s.claims[o.Node.ClaimName]
	if !ok {
		return
	}
	set := condition.For(found.DeepCopy(), s.Options.Now)
	for _, step := range []struct {
		condition string
		limit     time.Duration
		help      func(c *metav1.Condition, limit string) string
	}{
		{v1.ConditionTypeLaunched, s.Cloud.WithDefaults().LaunchTimeout, launchHelp},
		{v1.ConditionTypeRegistered, cloud.RegistrationTimeout, registrationHelp},
		{v1.ConditionTypeInitialized, 0, initializationHelp},
	} {
		c := set.Get(step.condition)
		if c.Status == metav1.ConditionTrue {
			continue
		}
		if step.condition == v1.ConditionTypeInitialized && o.Code == disrupt.NoNode {
			break // its Node existed, and initialization does not begin without it
		}
		limit := duration.HumanDuration(step.limit)
		shown.Detail, shown.Help = conditionText(c), step.help(c, limit)
		if end := c.LastTransitionTime.Add(step.limit); step.limit > 0 && end.After(s.Options.Now) {
			shown.Until = known(end)
		} else if step.limit > 0 {
			shown.Detail += fmt.Sprintf("; the time limit of %s ended at %s", limit, end.UTC().Format(time.RFC3339))
			shown.Help = overdueHelp(c)
		}
		return
	}
	if o.Code == disrupt.NoNode {
		shown.Detail = "its Node had registered, and does not exist any more"
		shown.Help = "Nothing if its instance is gone: the controller deletes the NodeClaim then. Otherwise look for why the kubelet does not register the Node again."
	}
}

// conditionText is a condition in words.
func conditionText(c *metav1.Condition) string {
	text := fmt.Sprintf("%s is %s since %s: %s", c.Type, c.Status, c.LastTransitionTime.UTC().Format(time.RFC3339), c.Reason)
	if message := strings.TrimSpace(c.Message); message != "" {
		text += ": " + message
	}
	return text
}

// launchHelp is the remedy for a NodeClaim that has not launched.
func launchHelp(c *metav1.Condition, limit string) string {
	if c.Reason == condition.ReasonAwaitingReconciliation {
		return fmt.Sprintf("Wait for the launch: the controller deletes the NodeClaim if it has not launched after %s.", limit)
	}
	return fmt.Sprintf("Correct what the launch fails for: the controller retries it, and deletes the NodeClaim if it has not launched after %s.", limit)
}

// registrationHelp is the remedy for a NodeClaim that has launched and not registered.
func registrationHelp(c *metav1.Condition, limit string) string {
	if c.Status == metav1.ConditionFalse {
		return fmt.Sprintf("Nothing: the node cannot register any more, and the controller deletes the NodeClaim after %s.", limit)
	}
	return fmt.Sprintf("Wait for the node to register: the controller deletes the NodeClaim if it has not registered after %s.", limit)
}

// overdueHelp is the remedy for a NodeClaim that the controller should have deleted.
func overdueHelp(c *metav1.Condition) string {
	cause := "Look for why the instance does not register, such as its network and its bootstrap log."
	if c.Type == v1.ConditionTypeLaunched {
		cause = "Correct what the launch fails for."
	}
	return cause + " A controller that is running deletes the NodeClaim: look in its log if it stays."
}

// initializationHelp is the remedy for a node that has registered and is not initialized.
func initializationHelp(c *metav1.Condition, _ string) string {
	return cmp.Or(map[string]string{
		condition.ReasonAwaitingReconciliation: "Wait until the controller has looked at the Node; look in its log if that lasts.",
		"NodeNotReady":                         "Look at the Ready condition of the Node.",
		"StartupTaintsExist":                   "Look at the component that removes the startup taint.",
		"KnownEphemeralTaintsExist":            "Look at the component that removes the taint.",
		"ResourceNotRegistered":                "Look at the device plugin that registers the resource on the Node.",
		"DRADriverPoolsNotPublished":           "Look at the DRA driver on the Node.",
	}[c.Reason], "Look at what the Initialized condition of the NodeClaim names.") + " There is no time limit for the initialization."
}
