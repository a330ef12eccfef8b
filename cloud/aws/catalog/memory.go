package catalog

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/cloud/aws/image"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

// seenFor is how long discovered memory is cached: images are released more often.
const seenFor = 60 * 24 * time.Hour

// discoveredMemory is the memory in bytes that nodes of an instance type reported with certain images. It replaces the estimate, because
// a new node has at least the smallest amount that was seen.
type discoveredMemory struct {
	// mu makes looking and remembering one step.
	mu   sync.Mutex
	seen *ttlcache.Cache[string, int64]
}

// imagesOf names the images of a class, whatever their order.
func imagesOf(class *awsv1.EC2NodeClass) string {
	return strings.Join(slices.Sorted(slices.Values(amiIDs(class))), ",")
}

func amiIDs(class *awsv1.EC2NodeClass) []string {
	var out []string
	for _, i := range class.Status.AMIs {
		out = append(out, i.ID)
	}
	return out
}

func memoryKey(instanceType, images string) string { return instanceType + "/" + images }

// of is the observed memory; 0 for none.
func (m *discoveredMemory) of(instanceType, images string) int64 {
	bytes, _ := m.seen.Get(memoryKey(instanceType, images))
	return bytes
}

// learn stores the memory of a node, and reports whether it changes the stored value. The smallest amount counts.
func (m *discoveredMemory) learn(instanceType, images string, bytes int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := memoryKey(instanceType, images)
	have, known := m.seen.Get(key)
	if known && bytes > have {
		return false
	}
	m.seen.Set(key, bytes)
	return !known || bytes < have
}

// LearnMemory stores how much memory a node has, for later instance types of its class. Nodes with an image that would not be chosen today
// say nothing about those that would.
func (c *Catalog) LearnMemory(ctx context.Context, claim *v1.NodeClaim, node *corev1.Node) error {
	bytes := node.Status.Capacity.Memory().Value()
	if claim.Spec.NodeClassRef == nil || claim.Status.ImageID == "" || bytes <= 0 {
		return nil
	}
	class, err := c.ClassIfAny(ctx, claim.Spec.NodeClassRef.Name)
	if class == nil || err != nil {
		return err
	}
	types, err := c.Types(ctx, class)
	if err != nil {
		return err
	}
	t := Named(types, node.Labels[corev1.LabelInstanceTypeStable])
	if t == nil {
		return nil
	}
	if chosen, ok := image.Choose(class.Status.AMIs, t); !ok || chosen.ID != claim.Status.ImageID {
		return nil
	}
	if c.memories.learn(t.Name, imagesOf(class), bytes) {
		observe.Log(ctx).DebugContext(ctx, "discovered the memory of an instance type", logfield.InstanceType(t.Name), awsfield.Memory(node.Status.Capacity.Memory().String()),
			awsfield.EstimatedMemory(t.Capacity.Memory().String()), awsfield.EC2NodeClass(class.Name), logfield.Node(node.Name))
	}
	return nil
}
