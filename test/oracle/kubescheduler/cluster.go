package kubescheduler

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// cluster is the snapshot that plugins see. Pods can be added, unlike to the scheduler's own snapshot outside of pod groups.
type cluster struct {
	*cache.Snapshot // pod groups: none

	list   []fwk.NodeInfo
	byName map[string]*framework.NodeInfo
	// volumes counts the pods that use a PersistentVolumeClaim, by namespace/name.
	volumes map[string]int
}

func newCluster() *cluster {
	c := &cluster{Snapshot: cache.NewEmptySnapshot()}
	c.reset(nil)
	return c
}

func (c *cluster) reset(nodes []*corev1.Node) {
	c.list, c.byName, c.volumes = nil, make(map[string]*framework.NodeInfo, len(nodes)), map[string]int{}
	for _, node := range nodes {
		c.addNode(node)
	}
}

func (c *cluster) addNode(node *corev1.Node) {
	info := framework.NewNodeInfo()
	info.SetNode(node)
	c.list = append(c.list, info)
	c.byName[node.Name] = info
}

// removeNode removes the node that was added last.
func (c *cluster) removeNode(name string) {
	c.list = c.list[:len(c.list)-1]
	delete(c.byName, name)
}

func (c *cluster) add(pod *corev1.Pod, node string) {
	info := c.byName[node]
	if info == nil {
		return // of a node that is gone; it runs nowhere
	}
	info.AddPod(pod)
	for _, name := range claimsOf(pod) {
		c.volumes[pod.Namespace+"/"+name]++
	}
}

// NodeInfos implements SharedLister.
func (c *cluster) NodeInfos() fwk.NodeInfoLister { return nodeLister{c} }

// StorageInfos implements SharedLister.
func (c *cluster) StorageInfos() fwk.StorageInfoLister { return c }

// IsPVCUsedByPods implements StorageInfoLister.
func (c *cluster) IsPVCUsedByPods(key string) bool { return c.volumes[key] > 0 }

// nodeLister lists the nodes of a cluster.
type nodeLister struct{ *cluster }

// List implements NodeInfoLister.
func (l nodeLister) List() ([]fwk.NodeInfo, error) { return l.list, nil }

func (l nodeLister) those(has func(fwk.NodeInfo) bool) ([]fwk.NodeInfo, error) {
	var out []fwk.NodeInfo
	for _, info := range l.list {
		if has(info) {
			out = append(out, info)
		}
	}
	return out, nil
}

// HavePodsWithAffinityList implements NodeInfoLister.
func (l nodeLister) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return l.those(func(n fwk.NodeInfo) bool { return len(n.GetPodsWithAffinity()) > 0 })
}

// HavePodsWithRequiredAntiAffinityList implements NodeInfoLister.
func (l nodeLister) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return l.those(func(n fwk.NodeInfo) bool { return len(n.GetPodsWithRequiredAntiAffinity()) > 0 })
}

// HavePodsWithRequiredNonHostScopedAntiAffinityList implements NodeInfoLister.
func (l nodeLister) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return l.those(func(n fwk.NodeInfo) bool { return len(n.GetPodsWithRequiredNonHostScopedAntiAffinity()) > 0 })
}

// Get implements NodeInfoLister.
func (l nodeLister) Get(name string) (fwk.NodeInfo, error) {
	info, ok := l.byName[name]
	if !ok {
		return nil, fmt.Errorf("node %q does not exist", name)
	}
	return info, nil
}
