package aws

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/internal/observe"
)

// newRecorder is what the controllers of the cloud tell users with. It ends with the manager.
func newRecorder(m manager.Manager, now clock.PassiveClock) (*observe.Recorder, error) {
	clientset, err := kubernetes.NewForConfigAndClient(m.GetConfig(), m.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("building the client for events: %w", err)
	}
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: clientset.CoreV1().Events("")})
	err = m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		broadcaster.Shutdown()
		return nil
	}))
	if err != nil {
		return nil, fmt.Errorf("adding the sender of events: %w", err)
	}
	return observe.NewRecorder(broadcaster.NewRecorder(m.GetScheme(), corev1.EventSource{Component: observe.EventComponent}), now), nil
}
