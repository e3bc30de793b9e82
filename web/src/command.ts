// SPDX-License-Identifier: Apache-2.0
// Commands that a person pastes into a shell. Names of calls come from dumps and results of other people, and may hold anything; the
// program quotes the words before them (src/base/core/shell_words.cc).

/** The text as one word of a POSIX shell: in single quotes where the shell would read it otherwise. */
export const shellWord = (text: string): string =>
    /^[\w/.,:@%+\-\u{80}-\u{10ffff}][\w/.,:=@%+\-\u{80}-\u{10ffff}]*$/u.test(text) ? text : `'${text.replaceAll('\'', '\'\\\'\'')}'`;

/** The command for one call; a name that begins with a dash must not be taken for an option. '' without a start or a name. */
export const callCommand = (start: string, call: string): string =>
    start === '' || call === '' ? '' : `${start} --only${call.startsWith('-') ? '=' : ' '}${shellWord(call)}`;
