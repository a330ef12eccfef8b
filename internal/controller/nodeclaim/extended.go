package nodeclaim

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// ServeExtendedResources makes Nodes count as initialized without an extended resource if they have published devices of its DeviceClass:
// kube-scheduler allocates these, and no device plugin has to register the resource. The translator must not be used elsewhere. It has an
// effect together with AwaitDrivers only.
//
// Source: specification of version 1.15, extended resources by dynamic resource allocation; KEP-5004.
func (l *Lifecycle) ServeExtendedResources(translator *translate.Translator) *Lifecycle {
	l.extended = &extendedResources{translator: translator}
	return l
}

// extendedResources finds the devices that serve an extended resource.
type extendedResources struct {
	mu         sync.Mutex // of the translator, which has caches
	translator *translate.Translator
}

// unregistered is the first of the resources that no published device of the Node serves either; empty if there is none.
func (l *Lifecycle) unregistered(ctx context.Context, node *corev1.Node, resources []corev1.ResourceName) (corev1.ResourceName, error) {
	if len(resources) == 0 {
		return "", nil
	}
	if !l.awaitDrivers || l.extended == nil {
		return resources[0], nil
	}
	published, err := nodelookup.SlicesOf(ctx, l.Client, node.Name)
	if err != nil {
		return "", err
	}
	if len(published) == 0 {
		return resources[0], nil
	}
	var list resourcev1.DeviceClassList
	if err := l.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("listing device classes: %w", err)
	}
	classes := map[string]*resourcev1.DeviceClass{}
	for i := range list.Items {
		classes[list.Items[i].Name] = &list.Items[i]
	}
	return l.extended.unserved(resources, classes, published), nil
}

// unserved is the first of the resources that none of the slices has a device for; empty if there is none.
func (x *extendedResources) unserved(resources []corev1.ResourceName, classes map[string]*resourcev1.DeviceClass, published []resourcev1.ResourceSlice) corev1.ResourceName {
	x.mu.Lock()
	defer x.mu.Unlock()
	drivers := complete(published)
	var slices []*device.Slice
	for i := range published {
		if drivers[published[i].Spec.Driver] {
			slices = append(slices, x.translator.Slice(&published[i]))
		}
	}
	devices, extended := device.NewTemplate(slices, nil), x.translator.ExtendedClasses(classes)
	for _, name := range resources {
		class, found := extended[string(name)]
		if !found || class.Selection == nil || len(devices.Selected(class.Selection)) == 0 {
			return name
		}
	}
	return ""
}
