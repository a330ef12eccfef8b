package chart

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// TestValuesOfNotifications: the values reach the binary, and its files are mounted.
func TestValuesOfNotifications(t *testing.T) {
	if off := parsed(t, named("settings.clusterName=one")); off.Notifications.Enabled() {
		t.Error("notifications are on by default")
	}
	const dir = "/etc/karpenter/notifications"
	got := parsed(t, named("settings.clusterName=one", "settings.notifications.secretName=hook", "settings.notifications.events[0]=plan.proposed"))
	if n := got.Notifications; n.URLFile != dir+"/url" || n.SecretFile != dir+"/secret" || n.Format != options.NotificationJSON || n.Events.String() != "plan.proposed" {
		t.Errorf("got %+v", n)
	}
	slack := named("settings.clusterName=one", "settings.notifications.secretName=hook", "settings.notifications.format=slack", "networkPolicy.enabled=true",
		"networkPolicy.notificationPorts[0]=8443")
	if n := parsed(t, slack).Notifications; n.URLFile != dir+"/url" || n.SecretFile != "" || n.Format != options.NotificationSlack {
		t.Errorf("got %+v", n)
	}
	mounted, open := false, false
	for _, o := range slack.objects(t) {
		switch o := o.(type) {
		case *appsv1.Deployment:
			pod := o.Spec.Template.Spec
			mounted = len(pod.Volumes) == 1 && pod.Volumes[0].Secret.SecretName == "hook" && len(pod.Containers[0].VolumeMounts) == 1 &&
				pod.Containers[0].VolumeMounts[0].MountPath == dir && pod.Containers[0].VolumeMounts[0].ReadOnly && pod.Containers[0].VolumeMounts[0].Name == pod.Volumes[0].Name
		case *networkingv1.NetworkPolicy:
			for _, rule := range o.Spec.Egress {
				for _, p := range rule.Ports {
					open = open || p.Port.IntValue() == 8443
				}
			}
		}
	}
	if !mounted || !open {
		t.Errorf("the Secret is mounted %t, the port is open %t", mounted, open)
	}
}
