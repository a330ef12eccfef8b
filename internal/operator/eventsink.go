package operator

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/internal/observe"
)

// newEventSink returns a running broadcaster of classic core/v1 Events, which is what kubectl describe shows. Shut it down last, so that
// reconciles in progress can still publish events.
func newEventSink(m manager.Manager) (record.EventBroadcaster, error) {
	clientset, err := kubernetes.NewForConfigAndClient(m.GetConfig(), m.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("building the client for events: %w", err)
	}
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: clientset.CoreV1().Events("")})
	return broadcaster, nil
}

// newRecorder returns the recorder that controllers publish with.
func newRecorder(to record.EventBroadcaster, m manager.Manager) *observe.Recorder {
	sink := to.NewRecorder(m.GetScheme(), corev1.EventSource{Component: observe.EventComponent})
	return observe.NewRecorder(sink, clock.RealClock{})
}
