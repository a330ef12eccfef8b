package options

import (
	"strings"
	"testing"
)

func TestNotificationSettings(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	o, err := Parse([]string{"--notification-url-file=/u", "--notification-secret-file=/s"}, none)
	if err != nil || !o.Notifications.Enabled() || o.Notifications.Format != NotificationJSON {
		t.Fatalf("%+v, %v", o.Notifications, err)
	}
	for _, event := range AllNotificationEvents() {
		if want := event != PlanExecuting && event != CommandStarted; o.Notifications.Wants(event) != want {
			t.Errorf("%s is sent by default: %v", event, !want)
		}
	}
	o, err = Parse([]string{"--notification-url-file=/u", "--notification-format=slack", "--notification-events=plan.proposed, command.started"}, none)
	if err != nil || o.Notifications.Events.String() != "plan.proposed,command.started" || !o.Notifications.Wants(CommandStarted) || o.Notifications.Wants(PlanFailed) {
		t.Errorf("%+v, %v", o.Notifications, err)
	}
	if o, err = Parse(nil, none); err != nil || o.Notifications.Enabled() {
		t.Errorf("notifications are not off by default: %+v, %v", o.Notifications, err)
	}
	for args, want := range map[string]string{
		"--notification-url-file=/u":                            "--notification-secret-file (environment variable NOTIFICATION_SECRET_FILE)",
		"--notification-secret-file=/s":                         "must be set with --notification-secret-file",
		"--notification-format=teams":                           "allowed: json, slack",
		"--notification-events=plan.proposed,plan.done":         "allowed: plan.proposed, plan.approved",
		"--notification-events=plan.proposed,plan.proposed":     "plan.proposed is repeated",
		"--notification-url-file=/u --notification-format=json": "documents are signed",
	} {
		if _, err := Parse(strings.Fields(args), none); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
