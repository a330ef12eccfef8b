package nodeclass

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// serverVersion is the version of the API server, which all classes share.
type serverVersion struct {
	mu   sync.Mutex
	text string
	read time.Time
}

// serverVersion is the version of the API server without a leading v, at most as old as versionAgain.
func (c *Controller) serverVersion(ctx context.Context) (string, error) {
	c.version.mu.Lock()
	defer c.version.mu.Unlock()
	now := c.Clock.Now()
	if c.version.text != "" && now.Sub(c.version.read) < versionAgain {
		return c.version.text, nil
	}
	text, err := c.Version(ctx)
	if err != nil {
		return "", fmt.Errorf("asking the API server for its version: %w", err)
	}
	c.version.text, c.version.read = strings.TrimPrefix(text, "v"), now
	return c.version.text, nil
}

// kubernetesVersion follows the API server to newer versions. It does not follow it back: nodes may be newer than a control plane for the
// minutes in which replicas of the API server are upgraded, and must not drift twice.
func (c *Controller) kubernetesVersion(ctx context.Context, class *v1beta1.AKSNodeClass, set condition.Set) (time.Duration, error) {
	text, err := c.serverVersion(ctx)
	if err != nil {
		return 0, err
	}
	have := class.Status.KubernetesVersion
	if have == "" || !isTrue(set, v1beta1.ConditionTypeKubernetesVersionReady) {
		class.Status.KubernetesVersion = text
		set.True(v1beta1.ConditionTypeKubernetesVersionReady)
		return versionAgain, nil
	}
	now, err := version.ParseSemantic(text)
	if err != nil {
		return 0, fmt.Errorf("parsing the version of the API server: %w", err)
	}
	before, err := version.ParseSemantic(have)
	if err != nil {
		return 0, fmt.Errorf("parsing status.kubernetesVersion: %w", err)
	}
	switch {
	case before.LessThan(now):
		class.Status.KubernetesVersion = text
		set.False(v1beta1.ConditionTypeImagesReady, v1beta1.ReasonKubernetesUpgrade, fmt.Sprintf("The images are those of Kubernetes %s", have))
	case now.LessThan(before):
		observe.Log(ctx).InfoContext(ctx, "the API server is older than the nodes of the class, which keep their version", logfield.Version(have), logfield.ServerVersion(text))
	}
	set.True(v1beta1.ConditionTypeKubernetesVersionReady)
	return versionAgain, nil
}

// isTrue reports whether a condition is True, for whichever generation.
func isTrue(set condition.Set, conditionType string) bool {
	have := set.Get(conditionType)
	return have != nil && have.Status == metav1.ConditionTrue
}
