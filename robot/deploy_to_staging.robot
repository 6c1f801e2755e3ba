*** Settings ***
Documentation       One real skill folder, deploy-to-staging, from discovery to a deployment: the loader, its tools in
...                 both frameworks, and the skill's own scripts run by hand. The toolkit itself runs nothing.
Library             Collections
Library             OperatingSystem
Library             Process
Library             String
Library             AgentSkillLibrary.py
Suite Setup         Prepare
Suite Teardown      Clean Up
Test Tags           S1-58

*** Variables ***
${WORK}             ${TEMPDIR}${/}skillbelt-robot-deploy
@{FILES}            assets/checklist.json    assets/release-note.md.tmpl    assets/smoke-checks.json
...                 references/environments.md    references/rollback.md
...                 scripts/preflight.py    scripts/smoke_test.py

*** Test Cases ***
The Skill Goes Through Its Whole Life
    FOR    ${profile}    IN    STRICT    LENIENT
        ${loader}=    Load Skill Folder    ${SKILL}    ${profile}
        ${found}=    Discover    ${loader}
        Should Be Equal    ${found.name}    deploy-to-staging
        Should Start With    ${found.description}    Releases a service to a staging environment
        Should Be Empty    ${found.body}
        Should Be Empty    ${loader.body}
        ${active}=    Activate    ${loader}
        Should Start With    ${active.body.lstrip()}    \# Deploy to staging
        Should Be Equal    ${loader.body}    ${active.body}
        ${files}=    Bundled Files    ${loader}
        Should Be Equal    ${files}    ${FILES}
        ${rollback}=    Read Bundled File    ${loader}    references/rollback.md
        Should Contain    ${rollback}    Database migrations
        Deactivate    ${loader}
        Should Be Empty    ${loader.body}
        Should Be Equal    ${loader.spec.name}    deploy-to-staging
    END

The Body Is The File After Its Frontmatter
    ${loader}=    Load Skill Folder    ${SKILL}    STRICT
    ${active}=    Activate    ${loader}
    ${text}=    Get File    ${SKILL}${/}SKILL.md
    Should Be Equal    ${active.body}    ${text.split('\n---\n', 1)[1]}

Files Are Listed And Read Without Activating
    ${loader}=    Load Skill Folder    ${SKILL}    STRICT
    Should Be Equal    ${loader.script_paths}    ${{ ('scripts/preflight.py', 'scripts/smoke_test.py') }}
    Should Be Equal    ${loader.reference_paths}    ${{ ('references/environments.md', 'references/rollback.md') }}
    ${assets}=    Evaluate    tuple(path for path in $FILES if path.startswith('assets/'))
    Should Be Equal    ${loader.asset_paths}    ${assets}
    FOR    ${path}    IN    @{FILES}
        ${text}=    Read Bundled File    ${loader}    ${path}
        ${expected}=    Get File    ${SKILL}${/}${path}
        Should Be Equal    ${text}    ${expected}
    END
    Should Be Empty    ${loader.body}

The Descriptor Is A Read Only Tool With Three Slots
    ${loader}=    Load Skill Folder    ${SKILL}    LENIENT
    ${tool}=    Tool Descriptor    ${loader}
    Should Be Equal    ${tool.source}    agent_skill
    Should Be Equal    ${tool.name}    deploy-to-staging
    Should Be True    ${tool.read_only}
    Should Not Be True    ${tool.writes}
    Should Be Equal    ${tool.allowed_tools}    ${{ ('Read', 'Bash(python3:*)', 'Bash(git:*)') }}
    Should Be Equal    ${tool.agent_skill_path}    ${{ str(__import__('pathlib').Path($SKILL).resolve()) }}
    ${slots}=    Evaluate    [(slot.name, slot.path, slot.access) for slot in $tool.resource_slots]
    Should Be Equal    ${slots}    ${{ [(name, name, 'read_only') for name in ('scripts', 'references', 'assets')] }}
    Should Be Equal    ${loader.resource_slots}    ${tool.resource_slots}

Files Outside The Skill Are Refused
    ${loader}=    Load Skill Folder    ${SKILL}    LENIENT
    Run Keyword And Expect Error    ResourcePathError:*    Read Bundled File    ${loader}    ../incident-report/SKILL.md
    Run Keyword And Expect Error    ResourceNotFoundError:*    Read Bundled File    ${loader}    references/nothing.md

Both Frameworks Send A Model The Same Texts
    VAR    &{name}=    name=deploy-to-staging
    VAR    &{file}=    name=deploy-to-staging    path=references/rollback.md
    VAR    &{outside}=    name=deploy-to-staging    path=../incident-report/SKILL.md
    ${calls}=    Evaluate
    ...    [('load_skill', dict($name)), ('read_skill_resource', dict($file)), ('read_skill_resource', dict($outside))]
    ${ours}=    Tool Texts In Langchain    ${SKILL}    ${calls}
    ${theirs}=    Tool Texts In Llama Index    ${SKILL}    ${calls}
    Should Be Equal    ${ours}    ${theirs}
    Length Should Be    ${ours}    3
    Should Start With    ${ours}[0]    <skill_content name="deploy-to-staging">
    Should Contain    ${ours}[0]    python3 scripts/preflight.py
    Should Contain    ${ours}[1]    Database migrations
    Should Contain    ${ours}[2]    is not a path inside the skill

The Skill Is A Tool Of Its Own In Both Frameworks
    ${loader}=    Load Skill Folder    ${SKILL}    LENIENT
    ${descriptor}=    Activate    ${loader}
    FOR    ${framework}    IN    langchain    llama-index
        ${name}    ${description}    ${answer}=    Tool Of The Skill    ${SKILL}    ${framework}
        Should Be Equal    ${name}    ${descriptor.name}
        Should Contain    ${description}    Releases a service to a staging environment
        Should Contain    ${answer}    ${descriptor.body.strip()}
    END

A Service That Is Ready Passes The Preflight
    ${result}=    Run Script    preflight.py    --repo    ${SERVICE}    --version    1.4.0    --branch    main    --json
    Should Be Equal As Integers    ${result.rc}    0    ${result.stdout}${result.stderr}
    ${report}=    Evaluate    json.loads($result.stdout)    modules=json
    Should Be True    ${report}[ok]
    Should Be Equal    ${report}[version]    1.4.0
    Should Contain    ${report}[notes]    Carts keep their items
    ${states}=    Evaluate    {check['check']: check['status'] for check in $report['checks']}
    Should Be True    set($states.values()) == {'ok'}    ${states}

A Service With Uncommitted Work Does Not Pass
    Create File    ${SERVICE}${/}notes.txt    not committed
    ${result}=    Run Script    preflight.py    --repo    ${SERVICE}
    Should Be Equal As Integers    ${result.rc}    1
    Should Contain    ${result.stdout}    NOT READY
    Should Match Regexp    ${result.stdout}    FAIL\\s+clean-tree\\s+1 uncommitted: notes.txt
    [Teardown]    Remove File    ${SERVICE}${/}notes.txt

A Folder That Cannot Be Checked Is Neither
    Create Directory    ${WORK}${/}no-repository
    ${result}=    Run Script    preflight.py    --repo    ${WORK}${/}no-repository
    Should Be Equal As Integers    ${result.rc}    2
    Should Contain    ${result.stderr}    not in a git work tree

The Deployed Version Passes The Smoke Test
    ${result}=    Run Script    smoke_test.py    --no-proxy    --base-url    ${STAGING}
    ...    --checks    ${SKILL}${/}assets${/}smoke-checks.json    --json
    Should Be Equal As Integers    ${result.rc}    0    ${result.stdout}${result.stderr}
    ${report}=    Evaluate    json.loads($result.stdout)    modules=json
    Should Be True    ${report}[ok]

A Service That Never Gets Healthy Fails The Smoke Test
    ${result}=    Run Script    smoke_test.py    --no-proxy    ${STAGING}/not-yet    --retries    1    --delay    0.05
    Should Be Equal As Integers    ${result.rc}    1
    Should Contain    ${result.stdout}    503

The Shipped Skill Is As It Was
    [Documentation]    No test above left anything in the skill's folder, compiled code included.
    ${loader}=    Load Skill Folder    ${SKILL}    STRICT
    ${files}=    Bundled Files    ${loader}
    Should Be Equal    ${files}    ${FILES}
    Directory Should Not Exist    ${SKILL}${/}scripts${/}__pycache__

*** Keywords ***
Prepare
    Remove Directory    ${WORK}    recursive=True
    Create Directory    ${WORK}
    ${skill}=    Shipped Skill    deploy-to-staging
    ${python}=    Installed Python
    ${service}=    Create Service    ${WORK}    1.4.0
    ${staging}=    Start Staging
    VAR    ${SKILL}    ${skill}    scope=SUITE
    VAR    ${PYTHON}    ${python}    scope=SUITE
    VAR    ${SERVICE}    ${service}    scope=SUITE
    VAR    ${STAGING}    ${staging}    scope=SUITE

Clean Up
    Stop Staging
    Remove Directory    ${WORK}    recursive=True

Run Script
    [Documentation]    What the skill's text tells a person or an agent with a shell to type.
    [Arguments]    ${script}    @{arguments}
    ${result}=    Run Process    ${PYTHON}    ${SKILL}${/}scripts${/}${script}    @{arguments}
    ...    cwd=${WORK}    env:GIT_CEILING_DIRECTORIES=${WORK}    timeout=60s    on_timeout=kill
    RETURN    ${result}
