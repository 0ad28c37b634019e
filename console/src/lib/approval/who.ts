import type { Schema } from '$lib/api/client';

/** Whether a user of an approval is this one, or another user of the same person. */
export function isSelf(person: Schema<'ApprovalPerson'>, user: Schema<'User'> | null): boolean {
	if (!user) return false;
	if (person.user === `user:${user.name}` || person.user === `user:${user.id}` || person.user === user.id) return true;
	return person.person !== null && person.person === user.person;
}

/** Why this user does not decide an alert that waits; null where they may. */
export function cannotDecide(alert: Schema<'Alert'>, user: Schema<'User'> | null): 'role' | 'own' | 'twice' | null {
	const approval = alert.approval;
	if (!approval || !user?.roles.includes('approver')) return 'role';
	// In the drill space one may approve what one wrote, to practise.
	const isAuthor = approval.authors.some((author) => isSelf(author, user));
	if (isAuthor && alert.request.mode !== 'drill') return 'own';
	return approval.approvals.some(({ by }) => isSelf(by, user)) ? 'twice' : null;
}
