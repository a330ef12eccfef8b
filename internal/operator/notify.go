package operator

import (
	"fmt"

	"github.com/karpenter-anew/karpenter/internal/controller"
	"github.com/karpenter-anew/karpenter/internal/notification"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// notifier adds what sends notifications to the manager, which starts it on the leader. It is nil if they are off.
func (a assembly) notifier(metrics *observe.Metrics) (controller.Notifier, error) {
	if !a.options.Notifications.Enabled() {
		return nil, nil
	}
	n, err := notification.New(notification.Settings{
		Options: a.options.Notifications, Cluster: a.options.Cluster.Name, Version: a.process.Build.Version, Clock: a.clock, Log: a.process.Log,
		Metrics: &metrics.Notifications,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing notifications: %w", err)
	}
	if err := a.manager.Add(n); err != nil {
		return nil, fmt.Errorf("registering notifications: %w", err)
	}
	return n, nil
}
