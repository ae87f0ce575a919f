// The one error that is meant for people: its message is shown in the page as it stands.

export class PriorfitError extends Error {}
